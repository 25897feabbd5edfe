import type { FastifyReply, FastifyRequest } from 'fastify';
import { headOf } from '../pages/head.ts';
import { type Html, html } from '../pages/html.ts';
import { loginPath, ownPath } from '../pages/redirects.ts';
import { sendHtml } from '../pages/send-page.ts';
import { makeStyle } from '../pages/style-sheet.ts';

const style = makeStyle(
  new URL('../pages/frame.css', import.meta.url),
  new URL('../pages/parts.css', import.meta.url),
  new URL('browsable.css', import.meta.url),
  new URL('json.css', import.meta.url),
);
const POLICY = { style: style.source, targets: "'none'" };

export type BrowsablePage = { title: string; heading: Html; answer: Html; aside: readonly (Html | false)[] };

/** Sends the page with the status and headers that the reply already has. */
export const sendBrowsable = (reply: FastifyReply, page: BrowsablePage) =>
  sendHtml(reply, documentOf(page).toString(), POLICY);

const documentOf = ({
  title,
  heading,
  answer,
  aside,
}: BrowsablePage): Html => html`${headOf({ title: `${title} – Steward`, icon: '/avatars/S.svg', sheet: style.sheet })}
<body class="api">
<a class="skip" href="#answer">Go to the answer</a>
<header><img src="/avatars/S.svg" alt="" width="32" height="32"><p>Steward API</p>
<nav aria-label="Service"><a href="/docs/">Reference</a> <a href="/">Your account</a></nav></header>
<main>
<h1>${heading}</h1>
<div class="columns">
<div>${answer}</div>
<div>${aside}</div>
</div>
</main>
</body>
</html>
`;

/** Where somebody whom the API does not know can become known, and come back. */
export const loginHint = (request: FastifyRequest): Html => html`
<div class="hint"><p>The API answers people who are logged in, and programs that send a token.</p>
<p><a class="button" href="${loginPath((request.method === 'GET' && ownPath(request.url)) || '/')}">Log in</a></p></div>`;
