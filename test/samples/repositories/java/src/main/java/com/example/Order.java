package com.example;

public record Order(String id, int amount) {}
