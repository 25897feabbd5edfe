import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Which clients may see that an address was erased: only their later records of it get the pseudonym. */
export class ClientsOfErasures extends Migration {
  static readonly locks: Locks = { erasures: 'ACCESS EXCLUSIVE' };

  override up(): void {
    // Clients that have learned of different erasures of one address each get the pseudonym of theirs.
    this.addSql(`
      alter table erasures add column known_to int[] not null default '{}',
        drop constraint erasures_digest_unique`);
    this.addSql(`create index erasures_digest_index on erasures (digest)`);
    // Those that have the pseudonym, and those of the person, which the entry about the erasure names.
    this.addSql(`
      update erasures e set known_to = array(select distinct client_id from (
        select a.client_id from usage_days d join apps a on a.id = d.app_id where d.email in (e.pseudonym, e.address)
        union all select client_id from invitations where email in (e.pseudonym, e.address)
        union all select client_id from outbox_mails where recipient in (e.pseudonym, e.address)
        union all select unnest(client_ids) from audit_entries
          where actor_email in (e.pseudonym, e.address) or target in (e.pseudonym, e.address)) known
        where client_id is not null)
      where digest is not null`);

    // The pseudonym of an erased address, for usage of a client from before the erasure, and as long as the address names nobody there
    // again. Accounts and invitations of other clients must not make a difference.
    this.addSql(`
      create function pseudonym_of(of_address text, of_digest text, happened_at timestamptz, of_client int) returns text
      language plpgsql stable as $$
      begin
        if of_digest is null then return null; end if;
        return (select e.pseudonym from erasures e
          where e.digest = of_digest and of_client = any (e.known_to) and (happened_at <= e.started_at
            or not exists (select from users u where u.email = of_address and (u.is_staff or u.is_superuser
              or exists (select from memberships m where m.user_id = u.id and m.client_id = of_client)))
            and not exists (select from invitations i
              where i.email = of_address and i.client_id = of_client and i.status = 'pending'))
          order by e.id desc limit 1);
      end $$`);
    // The same for what is recorded in the audit trail of these clients, soon after the erasure by a request that was running, or of none.
    // An account of any client may have just left these.
    this.addSql(`
      create function audited_pseudonym_of(of_address text, of_digest text, happened_at timestamptz, of_clients int[]) returns text
      language plpgsql stable as $$
      begin
        if of_digest is null then return null; end if;
        return (select e.pseudonym from erasures e
          where e.digest = of_digest
            and (of_clients = '{}' or of_clients <@ e.known_to and happened_at < e.started_at + interval '1 hour')
            and not exists (select from users u where u.email = of_address)
            and not exists (select from invitations i where i.email = of_address and i.status = 'pending'
              and (of_clients = '{}' or i.client_id = any (of_clients)))
          order by e.id desc limit 1);
      end $$`);
    // For instances of the previous version, which expect one row.
    this.addSql(`
      create or replace function pseudonym_of(of_address text, of_digest text, happened_at timestamptz) returns text
      language plpgsql stable as $$
      begin
        if of_digest is null then return null; end if;
        return (select e.pseudonym from erasures e where e.digest = of_digest and (happened_at <= e.started_at
          or not exists (select from users u where u.email = of_address)
          and not exists (select from invitations i where i.email = of_address and i.status = 'pending'))
          order by e.id desc limit 1);
      end $$`);
  }
}
