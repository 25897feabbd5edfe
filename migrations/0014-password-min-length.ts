import { Migration } from '@mikro-orm/migrations';

/** Passwords shorter than 8 characters are too weak, whatever a client has chosen (NIST SP 800-63B, OWASP ASVS 2.1.1). */
export class PasswordMinLength extends Migration {
  override up(): void {
    this.addSql(`update clients set password_min_length = 8 where password_min_length < 8`);
    this.addSql(`
      alter table clients
        drop constraint clients_password_min_length_check,
        add constraint clients_password_min_length_check check (password_min_length >= 8 and password_min_length <= 128)`);
  }
}
