#!/bin/sh
# Counts the lines of a file.
wc -l < "$1" | tr -d ' '
