// `import 'squall/register'` has Node's own names draw from squall.
export {};
