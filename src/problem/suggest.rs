//! Finds the word that a misspelled one probably stands for.

/// The words allowed, led by the one that was probably meant.
pub fn suggest(given: &str, allowed: &[&str]) -> String {
    let all = allowed.join(", ");
    match nearest(given, allowed) {
        Some(word) => format!("did you mean `{word}`? Allowed are: {all}"),
        None => format!("allowed are: {all}"),
    }
}

/// The candidate that `given` is probably a misspelling of. `None` for a long text, which is no
/// word.
pub fn nearest<'c>(given: &str, candidates: &[&'c str]) -> Option<&'c str> {
    const LONGEST: usize = 100;
    if given.len() > LONGEST {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let given = plain(given);
    let limit = (given.chars().count() / 3).max(1);
    let distance = |word: &&str| strsim::osa_distance(&given, &plain(word));
    let near = candidates.iter().map(|word| (distance(word), *word));
    let near = near.filter(|(distance, _)| *distance <= limit).min();
    near.map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_forgives_case_underscores_and_one_typo() {
        let keys = ["cuda-flags", "cuda-minver", "src"];
        assert_eq!(nearest("cuda_flags", &keys), Some("cuda-flags"));
        assert_eq!(nearest("cuda-minvr", &keys), Some("cuda-minver"));
        assert_eq!(nearest("SRC", &keys), Some("src"));
        assert_eq!(nearest("depends", &keys), None);
        assert_eq!(nearest("", &[]), None);
    }
}
