import { readArgon2Hash } from './argon2-hash.ts';
import { readBcryptHash } from './bcrypt-hash.ts';
import type { ReadHash } from './password-check.ts';
import { readPbkdf2Hash } from './pbkdf2-hash.ts';
import { readScryptHash } from './scrypt-hash.ts';

/** A password hash as one of Django's own hashers writes it; null for any other text, such as `!…`. */
export const readDjangoHash = (encoded: string): ReadHash =>
  readPbkdf2Hash(encoded) ??
  readBcryptHash(encoded) ??
  readScryptHash(encoded) ??
  readPrefixedArgon2Hash(encoded);

const ARGON2_PREFIX = 'argon2';

const readPrefixedArgon2Hash = (encoded: string): ReadHash =>
  encoded.startsWith(ARGON2_PREFIX) ? readArgon2Hash(encoded.slice(ARGON2_PREFIX.length)) : null;
