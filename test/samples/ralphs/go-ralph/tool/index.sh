#!/bin/sh
# Writes the list of files that the README points to.
ls src 2>/dev/null > INDEX.txt || : > INDEX.txt
echo "index: $(wc -l < INDEX.txt | tr -d ' ') files"
