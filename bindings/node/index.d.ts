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

/** Returns a number from 0 to below 1, like `Math.random`, but unpredictable and with 53 random bits. */
export function random(): number;

/**
 * Expands a key to 2^64 reproducible bytes: AES-256 in counter mode from counter 0. They are the bytes of `squall
 * stream --seed`, and of `openssl enc -aes-256-ctr -K KEY -iv 0` over zeros. Clones of a machine continue with the same
 * bytes.
 */
export class Stream {
  /** Takes a key of 32 bytes, or 64 hexadecimal digits. Whoever knows the key can compute all bytes. */
  constructor(key: Uint8Array | string);
  /** Returns the next `size` bytes, never fewer. Throws if fewer are left. */
  read(size: number): Buffer;
  /** Fills the whole buffer with the next bytes, and returns it. */
  fill<T extends ArrayBufferLike | ArrayBufferView>(buffer: T): T;
  /** Moves to the byte `offset`, from 0 to below 2^64. */
  seek(offset: number | bigint): void;
}

/** Returns the protections of this process and counters of its generator, with the keys of `squall status --json`. */
export function status(): { version: string; engine: string; clone_guard: string; [key: string]: unknown };

/**
 * Returns a number that changes when this process may be running in a clone of its machine, or was itself restored from
 * a checkpoint by CRIU; null if the process cannot notice clones. Compare it with earlier numbers of the same process only.
 */
export function cloneGeneration(): bigint | null;

/**
 * Emits 'clone' with the new generation whenever the machine may have been cloned or the process was restored, and
 * 'error' if the watch fails. The first listener of 'clone' starts the watch, and after an error the next one that is
 * added starts it again, for all. Adding it throws an error if the process cannot notice clones (`cloneGeneration()` is
 * null). Listeners do not keep the process alive.
 */
export const clones: EventEmitter<{ clone: [generation: bigint | null]; error: [Error] }>;
