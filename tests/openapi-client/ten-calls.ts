import createClient from 'openapi-fetch';
import type { paths } from './generated/steward.d.ts';

/** Client code based only on the OpenAPI document. */
export const tenCalls = async (baseUrl: string, username: string, password: string): Promise<string[]> => {
  const anonymous = createClient<paths>({ baseUrl });
  const login = await anonymous.POST('/api/v1/api-token-auth/', { body: { username, password } });
  if (!login.data) throw new Error(login.error.detail);

  const client = createClient<paths>({
    baseUrl,
    headers: { authorization: `Token ${login.data.token}` },
  });
  const sites = await client.GET('/api/v1/jb/sites/');
  const users = await client.GET('/api/v1/jb/users/', { params: { query: { app: 'sales' } } });
  const email = users.data?.[0]?.email ?? '';
  const user = await client.GET('/api/v1/jb/users/{email}/', { params: { path: { email } } });
  const changed = await client.PATCH('/api/v1/jb/users/{email}/', {
    params: { path: { email } },
    body: { last_name: 'Byron' },
  });
  const invited = await client.POST('/api/v1/jb/users/invitations/', {
    body: [
      { email: 'one@guest.test', client: 1 },
      { email: 'two@guest.test', client: 1 },
    ],
  });
  const invitations = Array.isArray(invited.data) ? invited.data : [];
  const apps = await client.GET('/api/v1/jb/apps/');
  const app_id = apps.data?.[0]?.id ?? '';
  const entries = await client.GET('/api/v1/jb/apps/{app_id}/usage/entries/', {
    params: { path: { app_id }, query: { limit: 3 } },
  });
  const recorded = await client.POST('/api/v1/jb/apps/{app_id}/usage/', {
    params: { path: { app_id } },
    body: { email, action: 'STACK_ACCESS' },
  });
  const missing = await client.GET('/api/v1/jb/clients/{id}/', { params: { path: { id: 999 } } });

  const firstActivity: string | undefined = entries.data?.items[0]?.timestamp;
  return [
    `${sites.data?.length} sites`,
    `${user.data?.first_name} is ${changed.data?.last_name}`,
    ...invitations.map(({ email: invitee, is_demo_user }) => `${invitee} ${is_demo_user}`),
    `${apps.data?.[0]?.usage['30']?.actions !== undefined}`,
    `${firstActivity !== undefined}`,
    `${recorded.data?.inserted} inserted`,
    `${missing.error?.type}`,
  ];
};
