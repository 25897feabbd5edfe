import { randomUUID } from 'node:crypto';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import { rolesOf } from './app-access.ts';
import type { TicketFacts } from './ticket-facts.ts';

type Issue = { baseUrl: string; ticketSeconds: number; now: Date; stackSlug: string | null };

/** The claims of a new ticket. */
export const claimsOf = (facts: TicketFacts, issue: Issue): TicketClaims => {
  const { app, user, view } = facts;
  const iat = Math.floor(issue.now.getTime() / 1000);
  return {
    iss: issue.baseUrl,
    aud: app.app_slug,
    sub: user ? user.handle : `view:${view?.view_id}`,
    email: user?.email ?? null,
    name: user?.name ?? null,
    client: { id: app.client_id, name: app.client_name },
    app: { id: app.app_id, slug: app.app_slug, label: app.app_label },
    stack: view ? view.view_stack : issue.stackSlug,
    roles: user ? rolesOf(user) : ['guest'],
    data_permissions: orNull(view?.data_permissions) ?? orNull(user?.extra),
    selections: view?.selections ?? {},
    is_demo_user: user?.is_demo_user ?? false,
    access_view: view?.view_id ?? null,
    show_header: view?.show_header ?? true,
    show_footer: view?.show_footer ?? true,
    language_code: view?.language_code ?? '',
    jti: randomUUID(),
    iat,
    exp: iat + issue.ticketSeconds,
    issued_ms: facts.issued_ms,
  };
};

/** An empty object gives no permissions: then those of the user apply, or none. */
const orNull = (permissions: Record<string, unknown> | null | undefined) =>
  permissions && Object.keys(permissions).length > 0 ? permissions : null;
