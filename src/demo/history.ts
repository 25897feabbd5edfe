import { App, Stack } from '../../entities/app.ts';
import { Client } from '../../entities/client.ts';
import type { Db } from '../db/kysely.ts';
import { DAY_MS } from '../lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';

const UNUSED_APP = {
  id: 'Wd9kT4zx',
  slug: 'forecast',
  label: 'Forecast',
  description: 'Revenue of the next quarters.',
};

/** What `steward demo` adds to the workspace: an app without use, and a name that an admin has changed yesterday. */
export const addHistory = async (tx: Db, appsCreatedAt: Date, now: Date): Promise<void> => {
  const app = tx.create(App, {
    ...UNUSED_APP,
    client: tx.getReference(Client, 1),
    createdAt: new Date(appsCreatedAt.getTime() + DAY_MS),
  });
  tx.create(Stack, { id: 'e4e55c8a', app, slug: 'forecast', label: 'Forecast' });
  await tx.flush();
  const yesterday = { now: () => new Date(now.getTime() - DAY_MS) };
  await createAudit(NO_ORIGIN, yesterday).record(tx, [
    {
      action: 'user.update',
      actor: { email: 'admin@acme.test' },
      target: 'grace@acme.test',
      clients: [1],
      details: { last_name: { from: 'Murray', to: 'Hopper' } },
    },
  ]);
};
