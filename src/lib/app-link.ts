/** Whether an app has no address and APP_URL is not set: a link would lead to its REST resource. */
export const leadsToApi = (link: string): boolean => link.startsWith('/api/');
