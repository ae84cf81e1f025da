"""How an emulator is set up, its start-up resources above all.

`yaml_text` reads a file into nodes that know their lines, `document` makes resources of them,
`pubsubc` reads the variables and the file of public images, and `applying` brings about the
difference between what is wanted and what is there, through the API alone: in this process or at
any endpoint.
"""
