require "minitest/autorun"
require_relative "../lib/money"

class TestMoney < Minitest::Test
  def test_cents
    assert_equal 5, Money.new(5).cents
  end
end
