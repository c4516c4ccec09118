import{modules as o}from"./35229.shared.js";import{modules as s}from"./42914.shared.js";const t=5229,d=[5229,2914],m={...o,...s};export{t as id,d as ids,m as modules};
