// `import 'squall/register'` makes Node's own functions draw from squall.
export {};
