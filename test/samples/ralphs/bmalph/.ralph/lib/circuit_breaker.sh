#!/usr/bin/env bash
echo "the circuit of the loop stands here in a real project"
