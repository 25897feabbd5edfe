/** How erasures replace what names a person, in the audit trail, too, which is append-only otherwise. */
export const ERASURE = `
create function erased_text(value text, erasure erasures) returns text language sql immutable as $$
  select case when lower(value) like any (erasure.needles)
    then regexp_replace(value, erasure.pattern, erasure.pseudonym, 'gi') else value end
$$;

-- A name such as "null, 1" would match between the strings of JSON.
create function erased_json(value text, erasure erasures) returns text language plpgsql immutable as $$
  begin
    return erased_text(value, erasure)::json::text;
  exception when invalid_text_representation then
    return replace(value, erasure.address, erasure.pseudonym);
  end
$$;

create function audit_entries_append_only_fn() returns trigger language plpgsql as $$
  begin if tg_op = 'DELETE' then
        if old.occurred_at < nullif(current_setting('steward.audit_cutoff', true), '')::timestamptz then return old; end if;
      elsif tg_op = 'UPDATE' then
        if current_setting('steward.erasing', true) = 'on' and (
          to_jsonb(old) - array['actor_label', 'target_label', 'details', 'address']
          = to_jsonb(new) - array['actor_label', 'target_label', 'details', 'address']) then return new; end if;
      end if;
      raise exception 'The audit trail is append-only.'; end
$$;
create trigger append_only before update or delete on audit_entries
for each row execute function audit_entries_append_only_fn();
-- A separate trigger, because the ORM does not support this event.
create trigger append_only_truncate before truncate on audit_entries
for each statement execute function audit_entries_append_only_fn();

-- The pseudonym of an erased address, for usage of a client from before the erasure, and as long as the address names nobody there again;
-- null for all others. Accounts and invitations of other clients must not make a difference. A function, so that its plan is kept: as a
-- subquery, it would be planned with each statement.
create function pseudonym_of(of_address text, of_digest text, happened_at timestamptz, of_client int) returns text language plpgsql stable as $$
  begin
    if of_digest is null then return null; end if;
    return (select e.pseudonym from erasures e
      where e.digest = of_digest and of_client = any (e.known_to) and (happened_at <= e.started_at
        or not exists (select from users u where u.email = of_address and (u.is_staff or u.is_superuser
          or exists (select from memberships m where m.user_id = u.id and m.client_id = of_client)))
        and not exists (select from invitations i
          where i.email = of_address and i.client_id = of_client and i.status = 'pending'))
      order by e.id desc limit 1);
  end
$$;
`;
