#!/usr/bin/env bash
# bmalph-version: 3.0.0
echo "ralph_loop stands here in a real project"
