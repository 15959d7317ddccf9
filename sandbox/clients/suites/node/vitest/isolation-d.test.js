import './isolation.js';
