"""CEL types and declarations: variables, functions, messages and structs."""
