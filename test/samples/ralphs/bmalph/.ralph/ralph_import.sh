#!/usr/bin/env bash
# bmalph-version: 3.0.0
echo "ralph_import stands here in a real project"
