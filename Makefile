.PHONY: demo lint test

# Builds examples/relu for the CPU from nothing and loads it with the real client.
demo:
	scripts/demo.sh

# Style and static checks.
lint:
	scripts/lint.sh

# Everything, with real builds.
test:
	scripts/test.sh
