"""Masks for secure aggregation: the server learns the sum of the clients' updates, and no update.

Each pair of clients shares a key, from which both make the same mask; one adds it, the other subtracts it, modulo 2**64
(Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", 2017, without its recovery of
clients that drop out). Updates are arrays of int64 of any framework.
"""

import squall.cuda

# Bytes of each key's stream for one round. A mask that is used twice reveals the difference of two updates.
BYTES_OF_ROUND = 1 << 40


def masked(update, me, keys, number, stream_of=squall.cuda.Stream):
    """Return the update of client `me` for round `number`; `keys` has the key that it shares with each other client."""
    mask = update + 0
    if mask.nbytes > BYTES_OF_ROUND:
        raise ValueError("the update is longer than a round's part of the stream")
    for other, key in keys.items():
        stream = stream_of(key)
        stream.seek(number * BYTES_OF_ROUND)
        stream.readinto(mask)
        update = update + mask if me < other else update - mask
    return update


def main():
    import torch

    keys = {pair: squall.token_bytes(32) for pair in [(0, 1), (0, 2), (1, 2)]}
    updates = [torch.full((1000,), 10**client, device="cuda") for client in range(3)]
    sent = [
        masked(update, me, {sum(pair) - me: key for pair, key in keys.items() if me in pair}, 0)
        for me, update in enumerate(updates)
    ]
    print("one masked update:", sent[0][:3].tolist(), "the sum:", sum(sent)[:3].tolist())


if __name__ == "__main__":
    main()
