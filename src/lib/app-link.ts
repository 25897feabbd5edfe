/** Whether an app has no address, and APP_URL is not set: its link would lead to its description for programs. */
export const leadsToApi = (link: string): boolean => link.startsWith('/api/');
