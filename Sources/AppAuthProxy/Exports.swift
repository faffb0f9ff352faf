@_exported public import AppAuth
