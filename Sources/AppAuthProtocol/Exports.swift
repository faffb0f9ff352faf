// `JSON` is the one public name of JOSE; the rest has package access.
@_exported public import enum JOSE.JSON
