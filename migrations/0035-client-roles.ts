import { Migration } from '@mikro-orm/migrations';

/** What offboardings of the last day have ended, and their undo has left, names roles in single clients by one kind. */
export class ClientRoles extends Migration {
  override up(): void {
    this.addSql(`
      update operation_changes set ended = (
        select json_agg(case when part ->> 'kind' = 'client-admin'
          then part || jsonb_build_object('kind', 'client-role', 'key', 'client-admin:' || (part ->> 'key')) else part end)
        from jsonb_array_elements(ended::jsonb) as part)
      where ended::text like '%"client-admin"%'`);
    this.addSql(`
      update operation_changes set undone = jsonb_set(undone::jsonb, '{skipped}', (
        select jsonb_agg(case when part ->> 'kind' = 'client-admin'
          then part || '{"kind": "client-role"}' else part end)
        from jsonb_array_elements(undone::jsonb -> 'skipped') as part))
      where undone::text like '%"client-admin"%'`);
  }
}
