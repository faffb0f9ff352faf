@_exported public import AppAuthProtocol
@_exported public import AppAuthSession
@_exported public import HTTPTypes
