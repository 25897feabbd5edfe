import { Client } from 'pg';
import type { Connection } from '../../src/config/connection.ts';

/** Counts come as text, as they may be more than a number holds. */
type TableSize = { name: string; bytes: string };
type AppSize = { slug: string; id: string; users: string; actions30: string };

/** Partitions count as the table that they are parts of. */
const TABLES = `
  select coalesce(parent.relname, part.relname) as name, sum(pg_total_relation_size(part.oid)) as bytes
  from pg_class part
  left join pg_inherits on inhrelid = part.oid
  left join pg_class parent on parent.oid = inhparent
  where part.relkind = 'r' and part.relnamespace = current_schema()::regnamespace
  group by 1 order by 2 desc`;

const APPS = `
  select slug, id, count(user_id) as users, coalesce(actions30, 0) as actions30
  from apps left join app_grants on app_id = id left join usage_windows windows on windows.app_id = id
  group by id, actions30 order by users desc, created_at`;

/** Lines that say how many rows each table has, how much room it takes with its indexes, and how large apps are. */
export const describeDatabase = async (connection: Connection): Promise<string[]> => {
  const client = new Client(connection);
  await client.connect();
  try {
    return [...(await describeTables(client)), '', ...(await describeApps(client))];
  } finally {
    await client.end();
  }
};

const describeTables = async (client: Client): Promise<string[]> => {
  const { rows: tables } = await client.query<TableSize>(TABLES);
  const lines: string[] = [];
  for (const { name, bytes } of tables) {
    const counting = `select count(*) as rows from ${client.escapeIdentifier(name)}`;
    const { rows } = await client.query<{ rows: string }>(counting);
    const megabytes = (Number(bytes) / 1e6).toFixed(1).padStart(10);
    lines.push(`${name.padEnd(24)}${withCommas(rows[0]?.rows ?? '0').padStart(12)} rows${megabytes} MB`);
  }
  return lines.filter((line) => !line.includes(' 0 rows'));
};

/** The largest app, one that is nearest to the average, and the smallest. */
const describeApps = async (client: Client): Promise<string[]> => {
  const { rows: apps } = await client.query<AppSize>(APPS);
  const average = apps.reduce((sum, { users }) => sum + Number(users), 0) / apps.length;
  const offOf = ({ users }: AppSize): number => Math.abs(Number(users) - average);
  const [nearest] = apps.toSorted((one, other) => offOf(one) - offOf(other));
  return [apps[0], nearest, apps.at(-1)].flatMap((app) => (app ? [lineOf(app)] : []));
};

const lineOf = ({ slug, id, users, actions30 }: AppSize): string =>
  `${slug} (${id}): ${withCommas(users)} users, ${withCommas(actions30)} entries in 30 days`;

const withCommas = (count: string): string => Number(count).toLocaleString('en');
