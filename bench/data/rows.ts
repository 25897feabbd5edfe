import { DAY_MS } from '../../src/lib/clock.ts';
import { OperatorError } from '../../src/lib/errno.ts';

/** The amount of data to generate. The same plan gives the same rows. */
export type Plan = {
  users: number;
  apps: number;
  /** One site each. */
  clients: number;
  /** Of the usage log. */
  entries: number;
  /** Length of the log. */
  days: number;
  seed: number;
  /** Midnight UTC at which the log ends. */
  until: Date;
};

/** The data behind the figures in docs/benchmarks.md. */
export const defaultPlan = (): Plan => ({
  users: 100_000,
  apps: 200,
  clients: 20,
  entries: 2_000_000,
  days: 120,
  seed: 1,
  until: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS),
});

/** Accounts with the password: a superuser, a staff member, and an admin of the first client. */
export const ROOT = 'root@bench.test';
export const STAFF = 'staff@bench.test';
export const ADMIN = 'admin@client-1.test';
export const PASSWORD = 'steward-bench-1';

export class InvalidPlan extends OperatorError {}

/** @throws InvalidPlan with a sentence per error */
export const checkPlan = ({ users, apps, clients, until }: Plan): void => {
  const errors = [
    clients < 1 && 'A plan needs a client.',
    clients > apps && 'Each client needs an app: there cannot be more clients than apps.',
    users < 10 * clients && 'Each client needs ten users.',
    until.getTime() % DAY_MS !== 0 && 'The log must end at midnight UTC.',
  ].filter((error) => error !== false);
  if (errors.length > 0) throw new InvalidPlan(errors.join('\n'));
};

/** Uneven sizes: with the square of a random number, the first of twenty gets a fifth. */
const skewed = (purpose: string, of: string): string => `pg_temp.fraction('${purpose}', ${of}) ^ 2`;

const picked = (purpose: string, of: string, ...values: string[]): string =>
  `(array['${values.join("','")}'])[1 + floor(pg_temp.fraction('${purpose}', ${of}) * ${values.length})::int]`;

/** With non-ASCII letters, for which encoders take a slower path. */
const FIRST_NAMES = ['Anna', 'Bela', 'Carlos', 'Dagny', 'Elif', 'Farid', 'Grete', 'Inês', 'Jörg', 'Keiko'];
const LAST_NAMES = ['Smith', 'Müller', 'García', 'Ivanova', 'Tanaka', 'Okafor', 'Nguyen', 'Kovács', 'Rossi'];

/** Numbers of the accounts with roles, and of two admins for each client after them. */
const ROLE_ACCOUNTS = 3;
const ADMINS_PER_CLIENT = 2;
const STACKS = ['Overview', 'Trends', 'Regions', 'Products'];
const ENTRIES_PER_VISIT = 5;
/** People join at most this many days before the log begins. */
const MEMBER_SINCE_DAYS = 1000;
const INVITATION_DAYS = 14;

/** What an entry of the log says about its request; its text is about the size of a real one. */
const EXTRA = `format('{"app":"%s","stack":%s,"app_id":"%s","request":{"path":"/apps/%s/","session":"%s","META":{
"HTTP_USER_AGENT":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0","SERVER_NAME":"%s","HTTP_REFERER":"https://%s/apps/%s/","REMOTE_ADDR":"10.0.%s.%s","CONTENT_TYPE":"text/html","REQUEST_METHOD":"GET","HTTP_HOST":"%s","SERVER_PORT":"443","QUERY_STRING":"filters=region%%2Cperiod&page=2","HTTP_ACCEPT_ENCODING":"gzip, br"}}}',
  g.slug, coalesce('"' || s.id || '"', 'null'), g.app_id, g.slug, md5(g.email || e.id), g.domain, g.domain, g.slug,
  g.n % 250, e.id % 250, g.domain)`;

/** Statements that generate all rows of a plan. The accounts with roles get the password. */
export const rowStatements = (plan: Plan, passwordHash: string): string[] => {
  const { users, apps, clients, entries, days, seed } = plan;
  const end = `timestamptz '${plan.until.toISOString()}'`;
  const at = (purpose: string, of: string, range: string): string =>
    `date_trunc('milliseconds', ${end} - ${range} * pg_temp.fraction('${purpose}', ${of}) * interval '1 day')`;

  return [
    // Each purpose has random numbers of its own, so that more rows of one kind do not change the others.
    `create function pg_temp.fraction(purpose text, n bigint) returns float8 language sql immutable as $$
      select (hashint8extended(n, hashtextextended(purpose, ${seed})) & 2147483647) / 2147483648.0 $$`,

    `insert into sites (id, domain, name) select n, 'client-' || n || '.bench.test', 'Client ' || n
      from generate_series(1, ${clients}) n`,
    `insert into clients (id, site_id, name, support_email, login_title, login_subtitle,
        subtitle_404, message_404, subtitle_500, message_500)
      select n, n, 'Client ' || n, 'help@client-' || n || '.test', 'Client ' || n, 'Please log in.',
        'Not found', 'This page does not exist.', 'Error', 'Something went wrong.'
      from generate_series(1, ${clients}) n`,

    // Lists of apps are ordered by age: one millisecond apart.
    `insert into apps (id, client_id, slug, label, description, help_html, footer_html, show_help, package_info, created_at)
      select substr(md5('app ' || n || ' ${seed}'), 1, 8), (n - 1) % ${clients} + 1, 'app-' || lpad(n::text, 3, '0'), 'Sales ' || n,
        'Sales ' || n || ': what happened, where, and why.',
        '<p>Choose a page of <b>Sales ' || n || '</b> on the left. The figures are updated every night.</p>', '<p>Made-up figures.</p>',
        true, json_build_object('version', '1.0.0', 'sha256', md5('package ' || n), 'stacks', json_build_array()),
        ${end} - ${days} * interval '1 day' + n * interval '1 millisecond'
      from generate_series(1, ${apps}) n`,
    `insert into stacks (id, app_id, slug, label)
      select substr(md5(apps.id || ' ' || name), 1, 8), apps.id, lower(name), name
      from apps cross join unnest(array['${STACKS.join("','")}']) name`,

    `create temporary table people on commit drop as
      select n, ${picked('first', 'n', ...FIRST_NAMES)} as first_name, ${picked('last', 'n', ...LAST_NAMES)} as last_name,
        n <= ${ROLE_ACCOUNTS} as has_role,
        n between ${ROLE_ACCOUNTS} and ${ROLE_ACCOUNTS + ADMINS_PER_CLIENT * clients} as is_admin,
        case when n < ${ROLE_ACCOUNTS} then null when n = ${ROLE_ACCOUNTS} then 1
          when n <= ${ROLE_ACCOUNTS + ADMINS_PER_CLIENT * clients} then (n - ${ROLE_ACCOUNTS + 1}) / ${ADMINS_PER_CLIENT} + 1
          else 1 + floor(${clients} * ${skewed('client', 'n')})::int end as client
      from generate_series(1, ${users}) n`,
    `insert into users (id, email, handle, first_name, last_name, extra, is_active, is_demo_user, is_staff, is_superuser,
        profile_color, password_hash, last_login, date_joined, last_password_set)
      select n, case n when 1 then '${ROOT}' when 2 then '${STAFF}' when 3 then '${ADMIN}'
          else 'person' || n || '@client-' || client || '.test' end,
        '@person' || n, first_name, last_name,
        json_build_object('department', 'Finance ' || n % 20, 'phone', '+49 30 ' || 1000000 + n, 'locale', 'en', 'flags', json_build_array(0, n % 3)),
        has_role or is_admin or pg_temp.fraction('active', n) > 0.04, not has_role and pg_temp.fraction('demo', n) < 0.02,
        n <= 2, n = 1, substr(md5(n::text), 1, 6), case when has_role then '${passwordHash}' end,
        case when pg_temp.fraction('login', n) < 0.9 then ${at('last login', 'n', String(days))} end, joined, joined
      from people cross join lateral (select ${at('joined', 'n', String(MEMBER_SINCE_DAYS))} - ${days} * interval '1 day' as joined) times`,
    // Every twentieth person also belongs to the next client, with the same data: the peers know only that of the account.
    `insert into memberships (client_id, user_id, is_admin, extra, is_demo_user)
      select client, n, is_admin, extra, is_demo_user from people join users on id = n where client is not null
      union all select client % ${clients} + 1, n, false, extra, is_demo_user from people join users on id = n
        where n % 20 = 0 and not is_admin and ${clients} > 1
      order by 2`,

    // One to five apps for each membership, the first ones of a client more often. The same app may come up twice.
    `create temporary table client_apps on commit drop as
      select *, row_number() over (partition by client_id order by created_at) - 1 as place, count(*) over (partition by client_id) as of
      from apps`,
    `insert into app_grants (user_id, app_id)
      select distinct m.user_id, a.id from memberships m
      cross join generate_series(1, 5) k
      join client_apps a on a.client_id = m.client_id and a.place = floor(a.of * ${skewed('grant', 'm.user_id * 10 + k')})
      where k <= 1 + 5 * pg_temp.fraction('grants', m.user_id)`,

    `insert into invitations (id, client_id, email, key, inviter_id, status, date_invited, expires_at, closed_at, email_count)
      select n, client, 'invitee' || n || '@client-' || client || '.test', md5('key ' || n),
        ${ROLE_ACCOUNTS + 1} + ${ADMINS_PER_CLIENT} * (client - 1), case n % 2 when 0 then 'pending' else 'revoked' end,
        invited, invited + ${INVITATION_DAYS} * interval '1 day', case n % 2 when 0 then null else invited + interval '1 day' end, 1
      from (select n, n % ${clients} + 1 as client, ${at('invited', 'n', String(INVITATION_DAYS - 2))} as invited
        from generate_series(1, ${Math.ceil(users / 20)}) n) rows`,
    `insert into invitation_apps (invitation_id, app_id)
      select i.id, a.id from invitations i join client_apps a on a.client_id = i.client_id and a.place = 0`,

    // In random order, because the first ones are the most active.
    `create temporary table active_grants on commit drop as
      select row_number() over (order by pg_temp.fraction('activity', g.user_id), g.app_id) as n, u.id as user_id, u.email,
        u.first_name || ' ' || u.last_name as full_name, a.id as app_id, a.slug, a.label, s.domain
      from app_grants g join users u on u.id = g.user_id join apps a on a.id = g.app_id
      join clients c on c.id = a.client_id join sites s on s.id = c.site_id`,
    'analyze active_grants',
    'analyze stacks',
    `insert into usage_entries (occurred_at, id, user_id, email, full_name, app_id, action, action_description, stack, extra)
      select e.at, e.id, g.user_id, g.email, g.full_name, g.app_id, case when s.id is null then 'APP_ACCESS' else 'STACK_ACCESS' end,
        'Opened ' || coalesce(s.label || ' of ', '') || g.label, s.id, ${EXTRA}::json
      from (select id, date_trunc('milliseconds', ${end} - ${days} * interval '1 day' * (1 - (id - 0.5) / ${entries})) as at,
          1 + floor((select count(*) from active_grants) * pg_temp.fraction('visit', id / ${ENTRIES_PER_VISIT}) ^ 3)::int as grant_number,
          1 + floor(${STACKS.length + 1} * ${skewed('stack', 'id')})::int as stack_number
        from generate_series(1, ${entries}) id) e
      join active_grants g on g.n = e.grant_number
      left join stacks s on s.app_id = g.app_id and s.label = (array['${STACKS.join("','")}'])[e.stack_number]
      order by e.id`,
    SEQUENCES,
  ];
};

/** Sets every sequence to the highest value of its column. */
const SEQUENCES = `
  do $$
  declare owned record;
  begin
    for owned in
      select format('%I', columns.table_name) as "table", columns.column_name as "column",
        pg_get_serial_sequence(format('%I', columns.table_name), columns.column_name) as sequence
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = current_schema() and table_type = 'BASE TABLE'
        and pg_get_serial_sequence(format('%I', columns.table_name), columns.column_name) is not null
    loop
      execute format('select setval(%L, max(%I)) from %s having max(%I) is not null',
        owned.sequence, owned."column", owned."table", owned."column");
    end loop;
  end $$`;
