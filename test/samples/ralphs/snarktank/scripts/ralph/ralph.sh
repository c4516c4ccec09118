#!/bin/bash
# The loop itself stands here in a real project.
echo "Starting Ralph - Tool: claude - Max iterations: ${1:-10}"
