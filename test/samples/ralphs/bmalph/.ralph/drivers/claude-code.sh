#!/usr/bin/env bash
echo "the driver stands here in a real project"
