// Types of squall for Node.js. The functions of node:crypto have the types that `@types/node` gives them.
import crypto = require('node:crypto');
import { EventEmitter } from 'node:events';

export const randomBytes: typeof crypto.randomBytes;
export const randomFill: typeof crypto.randomFill;
export const randomFillSync: typeof crypto.randomFillSync;
export const randomInt: typeof crypto.randomInt;
export const randomUUID: typeof crypto.randomUUID;
export const randomUUIDv7: typeof crypto.randomUUID;

/** Fills an array of integers of at most 65,536 bytes, as `crypto.getRandomValues` of the Web Crypto API does. */
export const getRandomValues: typeof crypto.webcrypto.getRandomValues;

/** A number from 0 to below 1, as `Math.random` gives, but unpredictable and with 53 random bits. */
export function random(): number;

/**
 * A key as 2^64 reproducible bytes: AES-256 in counter mode from counter 0. They are the bytes of `squall stream
 * --seed`, and of `openssl enc -aes-256-ctr -K KEY -iv 0` over zeros. Clones of a machine go on with the same bytes.
 */
export class Stream {
  /** The key: 32 bytes, or 64 hexadecimal digits. Who knows it knows all the bytes. */
  constructor(key: Uint8Array | string);
  /** The next `size` bytes, always all of them. Throws at the end of the stream. */
  read(size: number): Buffer;
  /** Fills all of a buffer with the next bytes, and returns it. */
  fill<T extends ArrayBufferLike | ArrayBufferView>(buffer: T): T;
  /** Moves to the byte `offset`, from 0 to below 2^64. */
  seek(offset: number | bigint): void;
}

/** The protections of this process and the work of its generator, with the keys of `squall status --json`. */
export function status(): { version: string; engine: string; clone_guard: string; [key: string]: unknown };

/**
 * A number that differs from the one before once this process may run in another copy of its machine; null if nothing
 * on this machine shows that. Compare it with earlier numbers of the same process only.
 */
export function cloneGeneration(): bigint | null;

/**
 * Emits 'clone' with the new generation each time that the machine may have been cloned, and 'error' if it cannot tell
 * any more. The first listener of 'clone' begins the watch, and is refused with an error where nothing shows clones
 * (`cloneGeneration()` is null). Listeners do not keep the process alive.
 */
export const clones: EventEmitter<{ clone: [generation: bigint | null]; error: [Error] }>;
