import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import type { PageContext } from './page-context.ts';
import { loginPath } from './page-layout.ts';
import { hiddenField } from './parts.ts';

const SCRIPT = readFileSync(new URL('browser/passkeys.js', import.meta.url));

/** Contains a hash of the content, so that browsers may cache it forever. */
const SCRIPT_PATH = `/passkeys-${createHash('sha256').update(SCRIPT).digest('hex').slice(0, 16)}.js`;

/** Serves the only script of the pages: passkeys need one. */
export const servePasskeyScript = (app: FastifyInstance): void => {
  app.get(SCRIPT_PATH, async (_request, reply) =>
    reply
      .type('text/javascript; charset=utf-8')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(SCRIPT),
  );
  refuseOtherMethods(app, [SCRIPT_PATH]);
};

/** Whether the login page offers passkeys: they work on this host, and at least one exists. */
export const offersPasskeys = async (context: PageContext): Promise<boolean> =>
  context.passkeysWork() && (await context.openServices().passkeys.exist());

/** `destination`, `next`: as in `loginTarget`. */
type Area = {
  purpose: 'login' | 'challenge';
  label: string;
  destination: string;
  next: string | null;
  /** What to do instead in a browser without scripts. */
  otherwise: Html | string;
  /** Whether the button is the main way to log in. */
  isMain?: boolean;
};

const ANSWER_PATHS = { login: '/api/v1/session/passkey/', challenge: '/api/v1/session/otp/' };

/** A button that logs in with a passkey, and its script. In browsers without scripts or passkeys, states that. */
export const passkeyArea = ({
  purpose,
  label,
  destination,
  next,
  otherwise,
  isMain = false,
}: Area): Html => html`
<div class="passkey" data-passkey="${purpose}" data-answer="${ANSWER_PATHS[purpose]}" data-next="${destination}"
data-late="${loginPath(next ?? '/', 'late')}">
<button type="button" hidden${isMain ? html` autofocus` : html` class="quiet"`}>${label}</button>
<p class="alert" role="alert"></p>
<noscript><p class="aside">Passkeys need JavaScript. ${otherwise}</p></noscript>
</div>
<script type="module" src="${SCRIPT_PATH}"></script>`;

/** A button that creates a passkey with these options and submits it with the surrounding form, and its script. */
export const passkeyCreation = (options: unknown): Html => html`
<div class="passkey" data-passkey="creation" data-options="${JSON.stringify(options)}">
${hiddenField('passkey', '')}
<button type="button" hidden autofocus>Create a passkey</button>
<p class="alert" role="alert"></p>
<noscript><p>Passkeys need JavaScript. Allow it for this site, and reload the page.</p></noscript>
<p class="aside">If none of your devices can keep one, ask your administrator.</p>
</div>
<script type="module" src="${SCRIPT_PATH}"></script>`;

/**
 * On a page of another host: a link to the host on which the passkeys of this service work, to use one, or to add one that `next` needs.
 */
export const passkeysElsewhere = ({ baseUrl }: PageContext, next?: string | null): Html => {
  const { origin, host } = new URL(baseUrl);
  const where = html`at <a href="${origin}${loginPath(next ?? '/')}">${host}</a>`;
  return next === undefined
    ? html`<p>Your passkey works ${where} only. Log in there, or use a recovery code.</p>`
    : html`<p>Passkeys can be added ${where} only. Log in there.</p>`;
};
