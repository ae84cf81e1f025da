"""Start-up resources: what is to exist, from files and variables, and how it is made so.

`yaml_text` reads a file into nodes that know their lines, `document` makes resources of them,
`pubsubc` reads the variables and the file of public images, and `applying` brings about the
difference between what is wanted and what is there, through the API alone: in this process or at
any endpoint.
"""
