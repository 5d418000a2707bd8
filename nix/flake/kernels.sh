# The command line of the `kernels` client.
PATH=@environment@/bin:$PATH
exec kernels "$@"
