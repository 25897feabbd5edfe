const DOCUMENT = '/api/v1/openapi.json';
const SCHEME = /^(token|bearer|jwt)\b */i;

/** Shows the word in the field for the token, so that examples have it too. */
const withScheme = async (response) => {
  const document = await response.json();
  for (const scheme of Object.values(document.components?.securitySchemes ?? {})) {
    if (scheme.type === 'apiKey' && scheme.name === 'Authorization')
      scheme['x-scalar-secret-token'] = 'Token ';
  }
  return Response.json(document);
};

/** People paste the token alone. Without one nothing is sent: a header would count for more than the login of the browser. */
const correctAuthorization = (headers) => {
  const value = headers.get('authorization');
  if (value === null) return;
  const token = value.replace(SCHEME, '').trim();
  if (token === '') headers.delete('authorization');
  else headers.set('authorization', `${SCHEME.exec(value)?.[1] ?? 'Token'} ${token}`);
};

globalThis.Scalar.createApiReference('#reference', {
  url: DOCUMENT,
  customFetch: async (input, init) => {
    const request = new Request(input, init);
    if (new URL(request.url).pathname === DOCUMENT) return withScheme(await fetch(request));
    const headers = new Headers(request.headers);
    correctAuthorization(headers);
    return fetch(new Request(request, { headers }));
  },
  // Nothing but this service is asked.
  proxyUrl: '',
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  theme: 'none',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
});
