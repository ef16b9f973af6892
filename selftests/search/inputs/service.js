// SPDX-License-Identifier: GPL-2.0
// A web service and 200 clients of it in one process, with worker threads that compute the answers.
const http = require('http');
const { Worker, isMainThread, parentPort } = require('worker_threads');

if (!isMainThread) {
	parentPort.on('message', number => {
		let sum = 0;
		for (let i = 0; i < 10000; i++)
			sum = (sum * 31 + number * i) % 1000003;
		parentPort.postMessage({ number, sum });
	});
} else {
	const workers = Array.from({ length: 8 }, () => new Worker(__filename));
	const waiting = new Map();
	workers.forEach(w => w.on('message', m => waiting.get(m.number)(m.sum)));
	const server = http.createServer((request, response) => {
		const number = parseInt(request.url.slice(1));
		waiting.set(number, sum => response.end(JSON.stringify({ number, sum, pad: 'x'.repeat(1000) })));
		workers[number % 8].postMessage(number);
	});
	server.listen(0, '127.0.0.1', async () => {
		const ask = number => new Promise(done => http.get(
			{ port: server.address().port, path: '/' + number, agent: false }, answer => {
				let text = '';
				answer.on('data', part => text += part);
				answer.on('end', () => done(JSON.parse(text).sum));
			}));
		const sums = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)));
		console.log(sums.reduce((a, b) => a + b, 0));
		server.close();
		workers.forEach(w => w.terminate());
	});
}
