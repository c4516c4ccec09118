#!/usr/bin/env bash
# bmalph-version: 3.0.0
echo "ralph_monitor stands here in a real project"
