extension Fault {
    /// Changes the response, if this fault does so.
    func change(_ reply: inout Reply) {
        switch self {
        case .respondAfterwards(let other): reply = other
        case .editReply(let edit): edit(&reply)
        case .oversize(let count):
            reply.body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, count - reply.body.count))
        default: break
        }
    }

    /// The delivery of the response, if this fault changes it.
    var delivery: Delivery? {
        switch self {
        case .drip(let pause): .drip(every: pause)
        case .cutOff(let count): .cutOff(after: count)
        case .reset(let count): .reset(after: count)
        case .lostResponse: .cutOff(after: 0)
        case .duplicatedResponse: .twice
        case .endless: .endless
        default: nil
        }
    }
}
