// not empty
