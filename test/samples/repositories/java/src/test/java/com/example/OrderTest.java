package com.example;

class OrderTest {}
