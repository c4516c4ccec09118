Money = Struct.new(:cents)
