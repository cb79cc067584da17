"""The source of an expression: lexer, parser, macros, syntax tree, syntax errors."""
