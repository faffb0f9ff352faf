@_exported public import AppAuthCore
