/** The days that charts and figures show at first: whole weeks, so that the same weekdays are compared. */
export const CHART_DAYS = 28;
