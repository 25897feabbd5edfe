import { Migration } from '@mikro-orm/migrations';

/**
 * A login finds out which kinds of password hashes are in use, so that all failures do the same work. A kind is a hash
 * without its salt and digest, so the index has few different keys however many users there are.
 */
export class PasswordHashKinds extends Migration {
  override up(): void {
    this.addSql(String.raw`
      create index users_password_hash_kind on users ((
        substring(
          regexp_replace(password_hash, '^(scrypt[$][0-9]+)[$][^$]*', '\1')
          from '^(?:pbkdf2_[a-z0-9]+[$][0-9]+|bcrypt[a-z0-9_]*[$][$]2[a-z][$][0-9]{2}|scrypt(?:[$][0-9]+){3}|(?:argon2)?[$]argon2[a-z]+[$](?:v=[0-9]+[$])?[^$]+)'
        )
      )) where is_active and password_hash is not null`);
  }
}
