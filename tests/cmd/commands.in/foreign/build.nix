# Written by hand.
{ }
