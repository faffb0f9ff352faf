// The public names of JOSE; the rest has package access.
@_exported public import enum JOSE.JSON
@_exported public import struct JOSE.KeyProvider
