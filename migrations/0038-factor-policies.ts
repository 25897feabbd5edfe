import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Policies of clients for second factors, and logins that wait for an enrolment. No row is written. */
export class FactorPolicies extends Migration {
  static readonly locks: Locks = { clients: 'ACCESS EXCLUSIVE', login_challenges: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table clients
        add column factor_policy text not null default 'off' constraint clients_factor_policy_check
          check (factor_policy in ('off', 'optional', 'required', 'passkey')),
        add column factor_grace_days int not null default 14 constraint clients_factor_grace_days_check
          check (factor_grace_days >= 0 and factor_grace_days <= 365),
        add column factor_policy_since timestamptz(3)`);
    this.addSql(`
      alter table login_challenges
        add column step text not null default 'code' constraint login_challenges_step_check
          check (step in ('code', 'enrol')),
        add column sealed_secret bytea`);
  }
}
