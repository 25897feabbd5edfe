import { type Html, html } from '../pages/html.ts';
import { API_INDEX, type ApiPath, apiPath, filledIn, isReadable, pathsBelow } from './endpoint-paths.ts';
import { visible } from './visible-text.ts';

const MAX_PATHS = 24;

type Params = Readonly<Record<string, string>>;

/** The path of the request, each part a link to what it leads to by itself. */
export const pathTrail = (path: ApiPath | undefined, params: Params, shown: string): Html => {
  if (!path) return html`${visible(shown)}`;
  const parts = path.url.split('/').slice(1, -1);
  return html`/${parts.map((part, index) => {
    const url = `/${parts.slice(0, index + 1).join('/')}/`;
    const text = filledIn(part, params);
    const isLink = url === API_INDEX || (url !== path.url && isReadable(apiPath(url)));
    return html`${isLink ? html`<a href="${filledIn(url, params)}">${text}</a>` : text}/<wbr>`;
  })}`;
};

/** The paths below this one, and what each takes. Those with a parameter left are no links. */
export const pathsFromHere = ({ url }: ApiPath, params: Params): Html | false => {
  const below = pathsBelow(url).slice(0, MAX_PATHS);
  if (below.length === 0) return false;
  return html`
<section class="card" aria-labelledby="below">
<h2 id="below">From here</h2>
<ul class="paths">${below.map((path) => pathRow(path, params))}</ul>
</section>`;
};

const pathRow = (path: ApiPath, params: Params): Html => {
  const target = filledIn(path.url, params);
  const text = target.slice('/api/v1'.length);
  const isLink = isReadable(path) && !target.includes('{');
  return html`<li>${path.endpoints.map(({ method }) => methodBadge(method))}
${isLink ? html`<a href="${target}">${text}</a>` : html`<code>${text}</code>`}</li>\n`;
};

export const methodBadge = (method: string): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span> `;
