#!/bin/bash
for i in $(seq 1 10); do claude --dangerously-skip-permissions --print < scripts/ralph/CLAUDE.md; done
